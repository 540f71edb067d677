import api from "../api.js";

export const { calibrate, calibrationReport } = api().calibration;
