/** How diagnostics and log records name this package. */
const { name, version } = require("../package.json");

module.exports = { NAME: name, VERSION: version };
