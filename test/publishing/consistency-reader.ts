import type { Random } from '../support/random.ts'
import { INDEX, SIBLING } from './content.ts'
import type { History, SiteHistory } from './history.ts'
import { SiteVisitor } from './site-visitor.ts'

interface ConsistencyReaderOptions {
  port: number
  history: History
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
    const { port, history, random } = this.#options
    using visitor = new SiteVisitor(port)
    while (!isDone()) {
      const sites = [...history.sites.values()].slice(-30)
      if (sites.length === 0) await new Promise((resolve) => setImmediate(resolve))
      else await this.#readSite(random.pick(sites), visitor).catch(() => undefined)
    }
  }

  /** Without an acknowledged change, equal versions before and after imply the same version between. */
  async #readSite(site: SiteHistory, visitor: SiteVisitor): Promise<void> {
    const { acknowledged } = site
    const visits: { path: string; seen: string | null }[] = []
    for (const path of [INDEX, SIBLING, INDEX])
      visits.push({ path, seen: site.identify(path, await visitor.get(site.slug, path)) })
    for (const { path, seen } of visits)
      if (seen === 'other') this.faults.push(`${site.slug}: ${path} was incomplete`)
    const [before, between, after] = visits.map(({ seen }) => seen)
    if (site.acknowledged !== acknowledged || before === null || before !== after) return
    this.reads++
    if (between !== before)
      this.faults.push(`${site.slug} mixed versions: ${before}, between them ${between}`)
  }
}
