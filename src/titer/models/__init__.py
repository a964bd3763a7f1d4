"""Forecasters, one file each, behind one small base class."""
