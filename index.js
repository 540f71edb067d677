module.exports = require("./scoring.js")();
