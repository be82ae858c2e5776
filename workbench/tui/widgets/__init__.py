"""The widgets of the workbench; none of them knows an endpoint or a file."""
