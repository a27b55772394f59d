"""Files to typed logs: positions and torques of the robot's motors, uniform in time, SI units."""

from dalembert.logs.channels import Channel, ChannelMap, TimeChannel, read_channels
from dalembert.logs.log import Block, Log, LogInfo, LogSource, make_log
from dalembert.logs.reader import FileSource, load_log, open_log, read_log, read_pieces
from dalembert.logs.repair import Repair
from dalembert.logs.writer import check_log_path, write_log

__all__ = [
    "Block",
    "Channel",
    "ChannelMap",
    "FileSource",
    "Log",
    "LogInfo",
    "LogSource",
    "Repair",
    "check_log_path",
    "TimeChannel",
    "load_log",
    "make_log",
    "open_log",
    "read_channels",
    "read_log",
    "read_pieces",
    "write_log",
]
