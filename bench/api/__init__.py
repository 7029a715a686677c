"""The Python interface: the commands as functions. `import bench` offers them."""
