"""Reading the formats that data sets come in."""
