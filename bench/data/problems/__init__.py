"""Problems that methods are run on: examples dealt to clients, a loss and a metric."""
