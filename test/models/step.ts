import { isSlipwayError, type Slipway } from '../../client/sdk/slipway.ts'
import type { Contents } from '../api/content.ts'
import type { Random } from '../support/random.ts'
import type { Credential, Person, Refusals, ReviewLink, Site } from './sites.ts'
import type { World } from './world.ts'

export const PATHS = ['index.html', 'a.html', 'b.txt', 'd/c.html']

/** Few, so that sites share them. */
const TEXTS = Array.from({ length: 8 }, (_, number) => `<p>text ${number} ${'x '.repeat(number ** 3)}`)

/** All that exists, as far as clients know. */
export class Model {
  readonly people: Person[] = []
  readonly sites: Site[] = []
  readonly credentials: Credential[] = []
  readonly links: ReviewLink[] = []
  /** What DNS must have for each addition of a domain. */
  readonly proofs: { domain: string; value: string }[] = []
  #names = 0

  nextName(): string {
    return `name-${++this.#names}`
  }
}

/** What an operation needs does not exist: it does nothing. */
export class NothingToDo extends Error {}

/** One operation with its choices. */
export class Step {
  readonly world: World
  readonly model: Model
  readonly random: Random
  readonly node: number
  readonly notes: string[] = []
  /** What it was about. */
  site: Site | undefined

  constructor({ world, model, random }: Pick<Step, 'world' | 'model' | 'random'>) {
    this.world = world
    this.model = model
    this.random = random
    this.node = random.below(2)
  }

  get now(): number {
    return this.world.now
  }

  pick<T>(from: readonly T[]): T {
    if (from.length === 0) throw new NothingToDo()
    return this.random.pick(from)
  }

  chooseSite(isWanted: (site: Site) => unknown = () => true): Site {
    this.site = this.pick(this.model.sites.filter(isWanted))
    return this.site
  }

  /** Often the same, so that much happens to it in little time. */
  usualSite(isWanted: (site: Site) => unknown = () => true): Site {
    const usual = this.model.sites.filter((site) => isWanted(site) && site.isShown(this.now))
    const [first] = usual
    return this.chooseSite(
      first && this.random.chance(0.4) ? (site) => site === first : (site) => usual.includes(site),
    )
  }

  /** Of an account; mostly one that can be changed. */
  ownedSite(): Site {
    const isOwned = ({ owner }: Site) => owner
    return this.random.chance(0.1) ? this.chooseSite(isOwned) : this.usualSite(isOwned)
  }

  /** Mostly the key of the owner. */
  credential(site: Site): Credential {
    return site.owner && this.random.chance(0.8) ? site.owner.key : this.pick(this.model.credentials)
  }

  client(credential?: Credential): Slipway {
    return this.world.client(this.node, { key: credential?.token })
  }

  /** The result of a call that must succeed; undefined when it is refused as it must be. */
  async attempt<T>(what: string, { must, may }: Refusals, call: () => Promise<T>): Promise<T | undefined> {
    const expected = [...must, ...may]
    try {
      const result = await call()
      this.notes.push(`${what}: done`)
      if (must.length === 0) return result
    } catch (error) {
      if (!isSlipwayError(error)) throw error
      this.notes.push(`${what}: ${error.code}`)
      if (expected.includes(error.code)) return undefined
      const instead = expected.join(' or ') || 'done'
      throw new Error(`${what} was refused with ${error.code} instead of ${instead}: ${error.message}`)
    }
    throw new Error(`${what} was not refused with ${must.join(' or ')}`)
  }

  files(): Contents {
    const chosen = PATHS.filter((path) => this.random.chance(path === 'index.html' ? 0.9 : 0.5))
    if (!chosen.some((path) => !path.includes('/'))) chosen.push('a.html')
    return Object.fromEntries(chosen.map((path) => [path, this.random.pick(TEXTS)]))
  }
}
