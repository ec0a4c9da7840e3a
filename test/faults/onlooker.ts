import type { Random } from '../support/random.ts'
import type { AckLog, KnownSite } from './ledger.ts'
import { generateBytes, INDEX, SIBLING, versionIn } from './site-content.ts'
import { SiteVisitor, type Visit } from './visitor.ts'

interface ConsistencyReaderOptions {
  port: number
  ledger: AckLog
  random: Random
}

/** Looks at sites while they change, and never accepts parts of two versions. */
export class ConsistencyReader {
  readonly #options: ConsistencyReaderOptions
  readonly faults: string[] = []
  /** How many looks there were that had to be of one version. */
  looks = 0

  constructor(options: ConsistencyReaderOptions) {
    this.#options = options
  }

  /** Looks at one site after another until `enough` says so; connections may break meanwhile. */
  async look(enough: () => boolean): Promise<void> {
    const { port, ledger, random } = this.#options
    using visitor = new SiteVisitor(port)
    while (!enough()) {
      const sites = [...ledger.sites.values()].slice(-30)
      if (sites.length === 0) await new Promise((resolve) => setImmediate(resolve))
      else await this.#lookAt(random.pick(sites), visitor).catch(() => undefined)
    }
  }

  /** While nothing was acknowledged, the same version before and after means the same in between. */
  async #lookAt(site: KnownSite, visitor: SiteVisitor): Promise<void> {
    const changes = site.changes
    const before = await visitor.get(site.slug, INDEX)
    const between = await visitor.get(site.slug, SIBLING)
    const after = await visitor.get(site.slug, INDEX)
    for (const [path, visit] of [
      [INDEX, before],
      [SIBLING, between],
    ] as const) {
      if (visit.status === 200 && !isWhole(path, visit))
        this.faults.push(`${site.slug}: ${path} was seen in part`)
    }
    if (site.changes !== changes || before.status !== 200 || !before.body.equals(after.body)) return
    this.looks++
    if (between.status !== 200 || versionIn(between.body) !== versionIn(before.body)) {
      this.faults.push(`${site.slug} was seen by halves: ${seen(before)}, between them ${seen(between)}`)
    }
  }
}

function isWhole(path: string, { body }: Visit): boolean {
  const version = versionIn(body)
  const [part, size] = path === INDEX ? ['index', 800] : ['sibling', 3000]
  return version !== undefined && body.equals(generateBytes({ seed: `${version}/${part}`, size }))
}

function seen({ status, body }: Visit): string {
  return status === 200 ? `version ${versionIn(body)}` : `status ${status}`
}
