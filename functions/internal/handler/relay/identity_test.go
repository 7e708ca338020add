package relay

const signingKeys = "the-new-key-0123456789 the-old-key-0123456789"
