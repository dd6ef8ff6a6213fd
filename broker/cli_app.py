"""The `ringcast` command line: its commands."""

from __future__ import annotations

from broker.cli_broker import broker
from broker.cli_up import up
from broker.cli_zones import zones
from chord.cli_options import make_app
from pubsub.cli_pub import pub
from pubsub.cli_sub import sub, topics

ringcast = make_app("Publish and subscribe on topics that are found through a Chord ring.")
for command in (pub, sub, topics, up, broker, zones):
    ringcast.command()(command)
