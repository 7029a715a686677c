"""Bellet et al. 2018: private peer-to-peer coordinate descent."""
