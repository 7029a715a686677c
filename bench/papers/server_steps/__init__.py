"""Reddi et al. 2021, Li et al. 2020, Andrew et al. 2021, steps of the server and the clients: sweeps."""
