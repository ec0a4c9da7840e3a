import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compare, publishSites, transport } from '../fleet/move.ts'
import { Report } from '../fleet/report.ts'
import { run, type Settings } from '../operator/program.ts'

interface SizeOptions {
  sites: number
  log: (line: string) => void
}

/** Backs up and restores a service with many sites, and prints the times. Compares every byte that it then sends. */
export async function runSizes({ sites: count, log }: SizeOptions): Promise<void> {
  const report = new Report(log)
  await using opened = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'slipway-backup-'))
  opened.defer(() => rm(folder, { recursive: true, force: true }))
  const target = join(folder, 'target')
  await mkdir(target)
  const settings = { DATA: join(folder, 'data'), LOG: 'warn' }
  const { sites } = await publishSites({ settings, count, report })
  await measure('backup', ['backup', target], settings, log)
  const { key, sites: more } = await publishSites({
    ...{ settings, report, count: Math.ceil(count / 100) },
    // After the drafts of the others.
    first: 2 * count,
  })
  await measure('backup with 1 % more sites', ['backup', target], settings, log)
  await measure('verify', ['backup', 'verify', target], settings, log)
  const restored = join(folder, 'restored')
  await measure('restore', ['restore', target, '--to-data', restored], settings, log)
  await compare(
    'the restored service',
    { DATA: restored, LOG: 'warn' },
    { key, sites: [...sites, ...more], report },
  )
  transport.close()
  log(report.violations.length === 0 ? 'all bytes are equal' : report.violations.join('\n'))
}

async function measure(
  what: string,
  args: string[],
  settings: Settings,
  log: (line: string) => void,
): Promise<void> {
  const startedAt = performance.now()
  const { code, lines, stderr } = await run(args, settings)
  if (code !== 0) throw new Error(`${what}: ${stderr}`)
  log(`${what}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s. ${lines.join(' ')}`)
}
