module.exports = require("./lib/api.js")().root;
