module.exports = require("../api.js")().logs;
