"""From rows of torque and regressor to parameters, each with its uncertainty."""
