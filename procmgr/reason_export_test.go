package procmgr

// Sentinels are the errors that Reason knows.
var Sentinels = sentinels
