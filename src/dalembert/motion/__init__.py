"""Motor angles -> full state: loop closure, admissible velocities, singularity measures."""

from dalembert.motion.closing import Closer, Motion, close_motion

__all__ = ["Closer", "Motion", "close_motion"]
