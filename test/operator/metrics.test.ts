import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { CreateResponse } from '../../protocol/api/publish.schema.ts'
import { INCIDENTS } from '../../server/lib/incidents.ts'
import { METRICS, type MetricName } from '../../server/lib/metric-table.ts'
import { Metrics } from '../../server/lib/metrics.ts'
import { observeStore } from '../../server/operations/telemetry/observe.ts'
import { tar } from '../archive/tar-file.ts'
import { openTestStore } from '../support/engines.ts'
import { sendRequest } from '../support/http-client.ts'
import { type RunningService, startTestService } from '../support/service.ts'
import { waitFor } from '../support/wait-for.ts'
import { memoryFolder } from '../tools/memory-folder.ts'
import { requires } from '../tools/part.ts'
import { promtool } from './promtool.ts'
import { scrape } from './scrape.ts'

const DEPLOY = join(import.meta.dirname, '..', '..', 'deploy')

describe('the metrics of a service', () => {
  let service: RunningService
  let internalPort: number
  before(async () => {
    service = await startTestService({ INTERNAL_PORT: '0', RATE_ANONYMOUS: '3' })
    internalPort = service.service.internalPort!
  })
  after(() => service[Symbol.asyncDispose]())

  const visit = (slug: string, path: string) =>
    sendRequest(service.port, { path, headers: { host: `${slug}.localhost` } })

  test('count what visitors, publishers and the service did', async () => {
    const before = await scrape(internalPort)
    const { slug } = await publish(service.port, 'x'.repeat(1000))
    for (const path of ['/', '/', '/', '/missing']) await visit(slug, path)
    await visit('no-such-site', '/')
    for (let request = 0; request < 4; request++)
      await sendRequest(service.port, { path: '/api/v1/sites', headers: { authorization: 'Bearer no-key' } })
    const now = await scrape(internalPort)
    const added = (name: string) => now.get(name) - before.get(name)
    const requests = (side: string, status: string, cache: string) =>
      added(`slipway_http_requests_total{side="${side}",status="${status}",cache="${cache}"}`)
    assert.equal(requests('edge', '2xx', 'hit') + requests('edge', '2xx', 'miss'), 3)
    assert.ok(requests('edge', '2xx', 'miss') >= 1, 'the first visit waits for the store')
    assert.equal(requests('edge', '4xx', 'hit') + requests('edge', '4xx', 'miss'), 2)
    assert.ok(added('slipway_http_response_body_bytes_total{side="edge"}') >= 3000)
    assert.ok(added('slipway_http_request_body_bytes_total') >= 1000)
    assert.equal(added('slipway_publishes_total{outcome="live"}'), 1)
    assert.ok(added('slipway_api_errors_total{code="RATE_LIMITED"}') >= 1)
    assert.ok(added('slipway_http_request_duration_seconds_count{side="api"}') >= 5)
    for (const kind of ['read', 'write'])
      assert.ok(
        added(`slipway_store_operation_duration_seconds_count{kind="${kind}",outcome="ok"}`) > 0,
        kind,
      )
    assert.ok(added('slipway_blob_operation_duration_seconds_count{operation="put",outcome="ok"}') >= 1)
    assert.ok(now.get('slipway_disk_free_bytes') > 0)
    assert.equal(now.get(`slipway_build_info{version="test",node="${process.versions.node}"}`), 1)
  })

  test('have all reads of the database, also those of publishes', async () => {
    const metrics = new Metrics()
    await using opened = await openTestStore({ folder: service.data, clock: Date.now })
    const { read, patient, newest } = observeStore(opened, { metrics })
    for (const queries of [read, patient, newest]) await queries.sites.find('absent')
    const labels = { kind: 'read', outcome: 'ok' }
    const { counts } = metrics.histogram('slipway_store_operation_duration_seconds', labels)
    assert.equal(
      counts.reduce((sum, count) => sum + count),
      3,
    )
  })

  test('have the names of the table, and one series for each of few values of a label', async () => {
    const { families, samples } = await scrape(internalPort)
    assert.deepEqual([...families.keys()], Object.keys(METRICS))
    for (const { name, labels } of samples) {
      const family =
        METRICS[(name in METRICS ? name : name.replace(/_(bucket|sum|count)$/, '')) as MetricName]
      const names = Object.keys(labels).filter((label) => label !== 'le')
      assert.deepEqual(names, family.labels, name)
    }
    assert.ok(samples.length < 700, `${samples.length} samples`)
  })

  test('whose increase an alert counts begin with 0, since Prometheus does not see the one to a first sample', async () => {
    const { samples } = await scrape(internalPort)
    for (const [name, label, values] of [
      ['slipway_emails_total', 'outcome', ['failed', 'rejected', 'sent']],
      ['slipway_damaged_files_total', 'found', ['read', 'sweep']],
      ['slipway_incidents_total', 'incident', Object.keys(INCIDENTS).sort()],
    ] as const) {
      const found = samples.filter((sample) => sample.name === name).map(({ labels }) => labels[label])
      assert.deepEqual(found.sort(), values, name)
    }
  })

  test('are those that promtool accepts', requires('promtool'), async () => {
    const { text: metrics } = await sendRequest(internalPort, { path: '/metrics' })
    assert.deepEqual(await promtool(['check', 'metrics'], metrics), { code: 0, output: '' })
  })

  test('are the only ones that the dashboard of Grafana and the alert rules name', async () => {
    const { families } = await scrape(internalPort)
    const files = ['grafana-dashboard.json', 'alerts.yaml'].map((name) => join(DEPLOY, name))
    for (const file of files) {
      const names = (await readFile(file, 'utf8')).match(/\b(slipway|process|nodejs)_[a-z_0-9]+/g) ?? []
      assert.ok(names.length > 10, file)
      for (const name of new Set(names)) {
        const family = name.replace(/_(bucket|sum|count)$/, '')
        assert.ok(families.has(name) || families.get(family) === 'histogram', `${file}: ${name}`)
      }
    }
  })
})

test('uploads whose clients disconnect are no failures of the storage', async () => {
  await using service = await startTestService({ INTERNAL_PORT: '0' })
  const countPuts = async (outcome: string) => {
    const name = 'slipway_blob_operation_duration_seconds_count'
    return (await scrape(service.service.internalPort!)).get(`${name}{operation="put",outcome="${outcome}"}`)
  }
  const data = Buffer.alloc(1_000_000)
  const { json } = await sendRequest(service.port, {
    method: 'POST',
    path: '/api/v1/publish',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      files: [{ path: 'index.html', size: data.length, contentType: 'text/html' }],
    }),
  })
  const { url } = (json as CreateResponse).upload.uploads[0]!
  const { pathname, search } = new URL(url)
  const archive = tar([{ name: 'index.html', data }])
  const bodies = [
    { method: 'PUT', path: pathname + search, type: 'text/html', body: data },
    { method: 'POST', path: '/api/v1/publish', type: 'application/x-tar', body: archive },
  ]
  for (const [count, { method, path, type, body }] of bodies.entries()) {
    const headers = { 'Content-Type': type, 'Content-Length': body.length }
    const sent = request({ port: service.port, method, path, headers, agent: false }).on('error', () => {})
    sent.write(body.subarray(0, 70_000))
    const active = async () => (await scrape(service.service.internalPort!)).get('slipway_uploads_active')
    await waitFor(async () => (await active()) === 1)
    sent.destroy()
    await waitFor(async () => (await countPuts('rejected')) + (await countPuts('failed')) > count)
  }
  assert.deepEqual([await countPuts('rejected'), await countPuts('failed')], [2, 0])
})

test('failures in a row are those of all processes, also of earlier ones, and only of sweeps that run', async () => {
  const settings = { INTERNAL_PORT: '0', BACKUP_TARGET: '/backups' }
  await using service = await startTestService(settings, undefined, { scheduledSweeps: [] })
  await using store = await openTestStore({ folder: service.data, clock: () => service.clock.now })
  for (const name of ['usage', 'usage', 'thumbnails'])
    await store.execute('relaxed', ({ sweepRuns }) =>
      sweepRuns.record({ name, startedAt: 1, durationMs: 1, items: 0, error: 'no' }),
    )
  const { get, samples } = await scrape(service.service.internalPort!)
  assert.equal(get('slipway_sweep_failures{sweep="usage"}'), 2)
  assert.equal(get('slipway_sweep_failures{sweep="trash"}'), 0)
  const names = samples.map(({ labels }) => labels.sweep)
  assert.deepEqual([names.includes('trash'), names.includes('thumbnails')], [true, false])
  // A backup that never ran is as old as the process.
  assert.equal(get('slipway_backup_last_run_timestamp_seconds'), get('process_start_time_seconds'))
})

describe('for Prometheus', requires('promtool'), () => {
  test('each alert rule is valid, and fires when it should', async () => {
    for (const args of [
      ['check', 'rules', join(DEPLOY, 'alerts.yaml')],
      ['test', 'rules', join(import.meta.dirname, 'alerts.yaml')],
    ]) {
      const { code, output } = await promtool(args)
      assert.equal(code, 0, output)
    }
  })

  test('each query of the dashboard is valid', async () => {
    const { panels } = JSON.parse(await readFile(join(DEPLOY, 'grafana-dashboard.json'), 'utf8')) as {
      panels: { targets?: { expr: string }[] }[]
    }
    const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    assert.ok(queries.length > 20)
    const rules = queries.map((expr, number) => ({
      record: `query:${number}`,
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
    }))
    await using folder = await memoryFolder()
    const file = join(folder.path, 'rules.yaml')
    // JSON is YAML.
    await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))
    const { code, output } = await promtool(['check', 'rules', file])
    assert.equal(code, 0, output)
  })
})

async function publish(port: number, page: string): Promise<{ slug: string }> {
  const { json } = await sendRequest(port, {
    method: 'POST',
    path: '/api/v1/publish',
    headers: { 'Content-Type': 'application/x-tar' },
    body: tar([{ name: 'index.html', data: Buffer.from(page) }]),
  })
  return json
}
