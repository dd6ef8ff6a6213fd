"""Publish and subscribe on topics that are found through the ring. Applications import `pubsub.client`."""
