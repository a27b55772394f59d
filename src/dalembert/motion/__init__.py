"""Motor angles -> full state: loop closure, admissible velocities, singularity measures."""

from dalembert.motion.closing import Closer, Motion, close_motion, unobserved
from dalembert.motion.sampling import States, random_configurations, random_states
from dalembert.motion.singularity import Margins, singularity_margins, subset_conditions

__all__ = [
    "Closer",
    "Margins",
    "Motion",
    "States",
    "close_motion",
    "random_configurations",
    "random_states",
    "singularity_margins",
    "subset_conditions",
    "unobserved",
]
