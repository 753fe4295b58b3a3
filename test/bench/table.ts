// The result as Markdown, as the README shows it.
import { cpus } from 'node:os'
import { contender } from './contenders'
import type { Rates } from './rounds'
import { isMet, type Measured, type Reach, type Row } from './row'
import { spread } from './statistics'

export function tableOf(results: [Row, Measured | string][]): string {
  const lines = results.map(([{ what, against, reach }, measured]) => {
    const [told, met] =
      typeof measured === 'string'
        ? [`not measured: ${measured}`, '']
        : [spread(measured.ratios, 2), isMet(reach, measured) ? 'yes' : 'no']
    return `| ${what} | ${against} | ${reachOf(reach)} | ${told} | ${met} |`
  })
  return ['| what | against | to reach | measured | met |', '|---|---|---|---|---|', ...lines].join('\n')
}

export function ratesTable(rates: Rates): string {
  const lines = rates
    .all()
    .map(([trial, sample]) => `| ${contender(trial.contender).title} | ${trial.kind} | ${spread(sample, 0)} |`)
  return ['| who | orders | a second |', '|---|---|---|', ...lines].join('\n')
}

export function footnotes(run: { rounds: number; seconds: number; wrk: boolean }): string {
  const [cpu, cores] = [cpus()[0]?.model.trim() ?? 'unknown', cpus().length]
  const generator = run.wrk ? 'wrk' : 'a Node program (wrk is not installed)'
  return [
    `Measured is the median of the ratios of ${run.rounds} rounds with the lowest and the highest of them. In each round`,
    `everybody takes a turn of ${run.seconds} s, one at a time, after a warm-up. ${cores} cores (${cpu}), Node ${process.version};`,
    `server, PostgreSQL and ${generator} with 32 connections share them. PostgreSQL 18 as it comes (fsync,`,
    'synchronous_commit and full_page_writes on), one server, a database for each. Everybody validates the same body with',
    'the same schema through pools of the same size. The lean order writes order, charge, and status with ledger row, as',
    'three commits into three plain tables with their primary keys; ours pays the sandbox provider, the Redis contenders',
    'guard the lean order. Redis as it comes: snapshots now and then, nothing on disk when it answers. A replay is one of',
    '1000 orders.',
    'Rates say nothing on another machine; ratios do.',
  ].join('\n')
}

const reachOf = (reach: Reach): string => ('atLeast' in reach ? `≥ ${reach.atLeast}` : `≤ ${reach.atMost} ×`)
