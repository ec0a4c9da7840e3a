import type { Random } from '../support/random.ts'
import type { AckLog, KnownSite } from './ack-log.ts'
import { generateBytes, INDEX, parseVersion, SIBLING } from './site-content.ts'
import { SiteVisitor, type Visit } from './visitor.ts'

interface ConsistencyReaderOptions {
  port: number
  ackLog: AckLog
  random: Random
}

/** Reads sites while they change, and reports a read that mixes two versions. */
export class ConsistencyReader {
  readonly #options: ConsistencyReaderOptions
  readonly faults: string[] = []
  /** Reads that had to return one version. */
  reads = 0

  constructor(options: ConsistencyReaderOptions) {
    this.#options = options
  }

  /** Reads sites until `isDone()`; ignores connection errors. */
  async run(isDone: () => boolean): Promise<void> {
    const { port, ackLog, random } = this.#options
    using visitor = new SiteVisitor(port)
    while (!isDone()) {
      const sites = [...ackLog.sites.values()].slice(-30)
      if (sites.length === 0) await new Promise((resolve) => setImmediate(resolve))
      else await this.#readSite(random.pick(sites), visitor).catch(() => undefined)
    }
  }

  /** Without an acknowledged change, equal versions before and after imply the same version between. */
  async #readSite(site: KnownSite, visitor: SiteVisitor): Promise<void> {
    const changes = site.changes
    const before = await visitor.get(site.slug, INDEX)
    const between = await visitor.get(site.slug, SIBLING)
    const after = await visitor.get(site.slug, INDEX)
    for (const [path, visit] of [
      [INDEX, before],
      [SIBLING, between],
    ] as const) {
      if (visit.status === 200 && !isWhole(path, visit))
        this.faults.push(`${site.slug}: ${path} was incomplete`)
    }
    if (site.changes !== changes || before.status !== 200 || !before.body.equals(after.body)) return
    this.reads++
    if (between.status !== 200 || parseVersion(between.body) !== parseVersion(before.body)) {
      this.faults.push(
        `${site.slug} mixed versions: ${describeVisit(before)}, between them ${describeVisit(between)}`,
      )
    }
  }
}

function isWhole(path: string, { body }: Visit): boolean {
  const version = parseVersion(body)
  const [part, size] = path === INDEX ? ['index', 800] : ['sibling', 3000]
  return version !== undefined && body.equals(generateBytes({ seed: `${version}/${part}`, size }))
}

function describeVisit({ status, body }: Visit): string {
  return status === 200 ? `version ${parseVersion(body)}` : `status ${status}`
}
