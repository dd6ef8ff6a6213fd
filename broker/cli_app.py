"""The `ringcast` command line: its commands."""

from __future__ import annotations

from broker.cli_broker import broker
from broker.cli_pub import pub
from broker.cli_sub import sub
from broker.cli_topics import topics
from broker.cli_up import up
from broker.cli_zones import zones
from chord.cli_options import make_app

ringcast = make_app("Publish and subscribe on topics that are found through a Chord ring.")
for command in (pub, sub, topics, up, broker, zones):
    ringcast.command()(command)
