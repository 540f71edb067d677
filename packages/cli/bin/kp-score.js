#!/usr/bin/env node
const { main } = require("../lib/main.js");

main(process.argv);
