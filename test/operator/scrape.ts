import assert from 'node:assert/strict'
import { sendRequest } from '../support/http-client.ts'

interface Sample {
  name: string
  labels: Record<string, string>
  value: number
}

/** The metrics of one response of `/metrics`. */
export interface Scrape {
  /** Types by the names of families. */
  families: Map<string, string>
  samples: Sample[]
  /** The value of a sample as it is written, with its labels; 0 when it is absent. */
  get(sample: string): number
}

/** Reads `/metrics` as Prometheus does. */
export async function scrape(port: number): Promise<Scrape> {
  const { status, headers, text } = await sendRequest(port, { path: '/metrics' })
  assert.equal(status, 200)
  assert.match(String(headers['content-type']), /^text\/plain; version=0\.0\.4/)
  const families = new Map<string, string>()
  const samples: Sample[] = []
  const values = new Map<string, number>()
  for (const line of text.split('\n')) {
    const [, family, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? []
    if (family !== undefined) families.set(family, type!)
    if (line === '' || line.startsWith('#')) continue
    const [, sample, name, labels = '', value] =
      /^((\w+)(?:\{(.*)\})?) (\S+)$/.exec(line) ?? assert.fail(line)
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, text]) => [label!, text!])
    samples.push({ name: name!, labels: Object.fromEntries(pairs), value: Number(value) })
    assert.ok(!values.has(sample!), `${sample} appears twice`)
    values.set(sample!, Number(value))
  }
  return { families, samples, get: (sample) => values.get(sample) ?? 0 }
}
