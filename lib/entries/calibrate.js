module.exports = require("../api.js")().calibration;
