'use client'
// Everything that is drawn by Recharts, in one piece that is loaded when the page is already there.
export { DecisionsPlot } from './plot-decisions'
export { LatencyPlot } from './plot-latency'
export { LatePlot, MisusePlot, RatioPlot, UnknownPlot } from './plot-small'
