"""Attacks on the methods of a board, on the board's own data and with the settings that it chose.

An audit asks whether a declared epsilon can be true, on tasks made for that purpose. An attack asks what an adversary
learns in practice: about real users and real images, from the model that a method releases. There are two of them, a
likelihood-ratio membership attack from many runs (`membership`; Carlini et al. 2022), and an estimate of epsilon from
canary users in one run (`canaries`; Andrew et al. 2024). Their results are numbers beside the declared epsilon, and
neither a bound nor a proof: a stronger attack might find more.
"""
