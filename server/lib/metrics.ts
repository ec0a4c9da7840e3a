import {
  LATENCY_SECONDS,
  type LabelsOf,
  METRICS,
  type MetricFamily,
  type MetricName,
  REPORTED,
} from './metric-table.ts'
import { settlesWithin } from './settles-within.ts'
import { shareResult } from './share-result.ts'

/** A collection waits this long for a database or a disk, then has former values. Workers have longer to report. */
const REFRESH_TIMEOUT_MS = 500

/** A count that only increases while the process runs. On a hot path, the caller keeps it. */
export class Counter {
  value = 0

  add(amount = 1): void {
    this.value += amount
  }
}

export class Gauge {
  value: number | undefined

  set(value: number): void {
    this.value = value
  }
}

/** Counts observations in fixed buckets; an observation allocates nothing. */
export class Histogram {
  readonly bounds: readonly number[]
  /** Observations of each bucket, not cumulative; the last one has no bound. */
  readonly counts: number[]
  sum = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = Array<number>(bounds.length + 1).fill(0)
  }

  observe(value: number): void {
    const { bounds } = this
    let bucket = 0
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++
    this.counts[bucket]!++
    this.sum += value
  }
}

/** A sample: its name, its labels as `name="value"` separated by commas, and its value. */
type Sample = readonly [name: string, labels: string, value: number]

export type MetricsSnapshot = { readonly [Name in MetricName]?: readonly Sample[] }

export interface ProcessSnapshot {
  worker?: number | undefined
  snapshot: MetricsSnapshot
}

interface Series {
  counter?: Counter
  gauge?: Gauge
  histogram?: Histogram
  reads: (() => number | undefined)[]
}

const FAMILIES: [MetricName, MetricFamily][] = Object.entries(METRICS) as [MetricName, MetricFamily][]

/** The numbers of one process for operators: `/metrics` shows all of them, `slipway-server nodes` the reported ones. */
export class Metrics {
  readonly #families = new Map<MetricName, Map<string, Series>>()
  readonly #refreshes: (() => Promise<void>)[] = []

  counter<Name extends MetricName>(name: Name, ...[labels]: Labels<Name>): Counter {
    const series = this.#series(name, labels)
    series.counter ??= new Counter()
    return series.counter
  }

  gauge<Name extends MetricName>(name: Name, ...[labels]: Labels<Name>): Gauge {
    const series = this.#series(name, labels)
    if (!series.gauge) {
      const gauge = new Gauge()
      series.gauge = gauge
      series.reads.push(() => gauge.value)
    }
    return series.gauge
  }

  histogram<Name extends MetricName>(name: Name, ...[labels]: Labels<Name>): Histogram {
    const series = this.#series(name, labels)
    series.histogram ??= new Histogram((METRICS[name] as MetricFamily).buckets ?? LATENCY_SECONDS)
    return series.histogram
  }

  /** Adds a value that is read when the numbers are shown. Values with a common name and labels are summed. */
  addRead<Name extends MetricName>(
    name: Name,
    read: () => number | undefined,
    ...[labels]: Labels<Name>
  ): void {
    this.#series(name, labels).reads.push(read)
  }

  /** Adds work that precedes each collection, at most once in a time: it refreshes what values of `addRead` return. */
  addRefresh(refresh: () => Promise<void>, lifetimeMs = 0): void {
    this.#refreshes.push(shareResult(refresh, { lifetimeMs }))
  }

  read(): Record<string, number> {
    const samples = (Object.keys(REPORTED) as MetricName[]).flatMap((name) => this.#samples(name))
    return Object.fromEntries(samples.map(([name, labels, value]) => [withLabels(name, labels), value]))
  }

  async collect(): Promise<MetricsSnapshot> {
    await settlesWithin(REFRESH_TIMEOUT_MS, Promise.allSettled(this.#refreshes.map((refresh) => refresh())))
    const samples = FAMILIES.map(([name]) => [name, this.#samples(name)] as const)
    return Object.fromEntries(samples.filter(([, found]) => found.length > 0))
  }

  #series(name: MetricName, labels: Readonly<Record<string, string>> = {}): Series {
    const key = formatLabels(labels)
    const family = this.#families.get(name) ?? new Map<string, Series>()
    const series = family.get(key) ?? { reads: [] }
    this.#families.set(name, family.set(key, series))
    return series
  }

  #samples(name: MetricName): Sample[] {
    return [...(this.#families.get(name) ?? [])].flatMap(([labels, { counter, histogram, reads }]) => {
      if (histogram) return histogramSamples(name, labels, histogram)
      const values = reads.map((read) => read()).filter((value) => value !== undefined)
      if (!counter && values.length === 0) return []
      return [[name, labels, values.reduce((sum, value) => sum + value, counter?.value ?? 0)] as const]
    })
  }
}

type Labels<Name extends MetricName> = keyof LabelsOf<Name> extends never
  ? []
  : [labels: Readonly<LabelsOf<Name>>]

function histogramSamples(name: string, labels: string, { bounds, counts, sum }: Histogram): Sample[] {
  const samples: Sample[] = []
  let total = 0
  for (const [index, count] of counts.entries()) {
    total += count
    const bound = `le="${bounds[index] ?? '+Inf'}"`
    samples.push([`${name}_bucket`, labels === '' ? bound : `${labels},${bound}`, total])
  }
  return [...samples, [`${name}_sum`, labels, sum], [`${name}_count`, labels, total]]
}

/** Text of the exposition format of Prometheus, version 0.0.4. Samples of several processes have a label `worker`. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export function formatMetrics(processes: readonly ProcessSnapshot[]): string {
  return FAMILIES.map(([name, { kind, help }]) => {
    const lines = processes.flatMap(({ worker, snapshot }) =>
      (snapshot[name] ?? []).map(([sample, labels, value]) => {
        const own = worker === undefined ? '' : `worker="${worker}"`
        return `${withLabels(sample, [own, labels].filter(Boolean).join(','))} ${formatValue(value)}\n`
      }),
    )
    return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${lines.join('')}`
  }).join('')
}

function formatValue(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
}

function withLabels(name: string, labels: string): string {
  return labels === '' ? name : `${name}{${labels}}`
}

/** In the order given; the exposition format escapes backslashes, quotes and line breaks. */
function formatLabels(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n')}"`)
    .join(',')
}
