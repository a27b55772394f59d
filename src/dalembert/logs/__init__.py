"""Files to typed logs: positions and torques of the robot's motors, uniform in time, SI units."""

from dalembert.logs.channels import Channel, ChannelMap, TimeChannel, read_channels
from dalembert.logs.channels_writer import channel_text, channels_text
from dalembert.logs.guess import Guess, guess_channels
from dalembert.logs.log import Block, Log, LogInfo, LogSource, make_log
from dalembert.logs.reader import FileSource, laid_out, load_log, open_log, read_log, read_pieces
from dalembert.logs.repair import Repair
from dalembert.logs.writer import check_log_path, write_log

__all__ = [
    "Block",
    "Channel",
    "ChannelMap",
    "FileSource",
    "Guess",
    "Log",
    "LogInfo",
    "LogSource",
    "Repair",
    "check_log_path",
    "TimeChannel",
    "channel_text",
    "channels_text",
    "guess_channels",
    "laid_out",
    "load_log",
    "make_log",
    "open_log",
    "read_channels",
    "read_log",
    "read_pieces",
    "write_log",
]
