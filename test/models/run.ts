import { DAY_MS, HOUR_MS } from '../../server/lib/time.ts'
import { Random } from '../support/random.ts'
import { findContradictions, findStrays, listDomains } from './invariants.ts'
import { OPERATIONS, PREVIEWS, signIn } from './operations.ts'
import type { Shown, Site } from './sites.ts'
import { Model, NothingToDo, PATHS, Step } from './step.ts'
import { type Visit, type VisitResponse, World } from './world.ts'

export interface RunOptions {
  seed: number
  steps: number
  /** The numbers of the steps that run; by default all. */
  only?: readonly number[] | undefined
}

export interface RunResult {
  /** What was wrong after the last step; undefined when nothing was. */
  problem?: string
  /** The numbers of the steps that ran. */
  steps: number[]
  history: string[]
  counts: Map<string, number>
}

const START = Date.UTC(2030, 0, 15, 12, 30)

/** Steps between two checks of the whole database, which costs as much as ten steps. */
const STEPS_PER_CHECK = 10
const STEPS_PER_COLD_VISITS = 3

const EMAILS = ['ann', 'bob', 'cyd'].map((name) => `${name}@people-test.org`)

/** Chooses operations at random, and compares the service with the model after each. The same seed makes the same choices. */
export async function runModel({ seed, steps, only }: RunOptions): Promise<RunResult> {
  const history: string[] = []
  const counts = new Map<string, number>()
  await using world = await World.start(START)
  const model = new Model()
  for (const email of EMAILS) await signIn(world, model, email)
  const checks = new Checks(world, model)
  const chosen = only ?? Array.from({ length: steps }, (_, number) => number)
  const result: RunResult = { steps: [], history, counts }
  try {
    for (const number of chosen) {
      result.steps.push(number)
      const random = new Random(Math.imul(seed, 1_000_003) + number)
      const name = chooseOperation(random)
      // Caches load what the operation changes.
      const visited = checks.visitAtRandom(random.fork())
      visited.catch(() => undefined)
      const step = new Step({ world, model, random })
      const time = new Date(world.now).toISOString().slice(5, 19)
      const isDone = await tryOperation(name, step).finally(async () => {
        history.push([`${number} ${time} node ${step.node} ${name}`, ...step.notes].join('\n      '))
        await visited
      })
      counts.set(name, (counts.get(name) ?? 0) + Number(isDone))
      if (isDone) await checks.afterStep(number, random, step.site)
    }
    await checks.atEnd()
  } catch (error) {
    result.problem = (error as Error).stack ?? String(error)
  }
  return result
}

/** False when there was nothing to do. */
async function tryOperation(name: string, step: Step): Promise<boolean> {
  try {
    await OPERATIONS[name]![1](step)
    return true
  } catch (error) {
    if (error instanceof NothingToDo) return false
    throw error
  }
}

const TOTAL_WEIGHT = Object.values(OPERATIONS).reduce((sum, [weight]) => sum + weight, 0)

function chooseOperation(random: Random): string {
  const at = random.next() * TOTAL_WEIGHT
  let sum = 0
  return Object.entries(OPERATIONS).find(([, [weight]]) => {
    sum += weight
    return at < sum
  })![0]
}

/** The comparisons of the service with the model, and of its caches with none. */
class Checks {
  readonly #world: World
  readonly #model: Model
  readonly #etags = new Map<string, string>()

  constructor(world: World, model: Model) {
    this.#world = world
    this.#model = model
  }

  /** Visits of which only the caches remember the responses. */
  async visitAtRandom(random: Random): Promise<void> {
    const visits = Array.from({ length: 4 }, () => this.#chooseVisit(random))
    const send = (node: number) => Promise.all(visits.map((visit) => this.#world.visit(node, visit)))
    const responses = (await Promise.all([...this.#world.nodes.keys()].map(send))).flat()
    for (const { status, text } of responses)
      if (status >= 500) throw new Error(`a visit has ${status} ${text}`)
  }

  async afterStep(step: number, random: Random, site: Site | undefined): Promise<void> {
    await this.#world.settle()
    const { sites } = this.#model
    const others = sites.length > 0 ? [random.pick(sites)] : []
    for (const one of new Set([...(site ? [site] : []), ...others])) await this.#visitSite(one, random)
    if (step % STEPS_PER_COLD_VISITS === 0) {
      await this.#compareWithCold(random)
      await this.#visitDomains(random)
    }
    if (step % STEPS_PER_CHECK === 0) assertNone(await findContradictions(this.#world))
    this.#assertNoErrors()
  }

  /** Nothing is left of what has ended, and what remains is served. */
  async atEnd(): Promise<void> {
    const world = this.#world
    world.now += HOUR_MS
    for (let round = 0; round < 2; round++) {
      await world.sweep(
        'expired-sites',
        'trash',
        'leaving',
        'abandoned',
        'old-versions',
        'uploads',
        'blobs',
        'encodings',
      )
      await world.settle()
      world.now += DAY_MS
    }
    await world.sweep('unnamed', 'blobs')
    world.now += DAY_MS
    await world.sweep('unnamed', 'blobs')
    const corrected = await world.sweep('usage')
    assertNone([...(await findContradictions(world)), ...(await findStrays(world))])
    if (corrected > 0) throw new Error(`usage was not counted correctly: ${corrected} corrections`)
    for (const site of this.#model.sites) await this.#visitSite(site, new Random(1))
    this.#assertNoErrors()
  }

  async #visitSite(site: Site, random: Random): Promise<void> {
    const { now, nodes } = this.#world
    const { slug, live, shown } = site
    const isShown = site.isShown(now)
    const cookie = site.cookies.length > 0 ? random.pick(site.cookies) : undefined
    for (const node of nodes.keys()) {
      await this.#visitFiles(node, site, random, {
        host: slug,
        shown: isShown && live ? shown : undefined,
        cookie,
      })
      for (const name of PREVIEWS) {
        const preview = isShown ? site.preview(name, now) : undefined
        await this.#visitFiles(node, site, random, {
          host: `${name}--${slug}`,
          shown: preview?.shown,
          cookie,
        })
      }
      for (const former of site.formerNames.slice(-2)) {
        const { status, headers } = await this.#visit(node, { host: former.slug, path: '/b.txt?q' })
        const isRedirect = status === 308 && String(headers.location).includes(`//${slug}.localhost`)
        // Sweeps end it.
        const mustRedirect = !site.isGone && !site.isExpired(now) && now < former.until
        if (mustRedirect ? !isRedirect : site.isGone && isRedirect)
          throw new Error(`${former.slug} has ${status} ${headers.location}`)
      }
    }
  }

  async #visitFiles(
    node: number,
    site: Site,
    random: Random,
    {
      host,
      shown,
      cookie,
    }: { host: string; shown: Shown | undefined; cookie: Site['cookies'][number] | undefined },
  ): Promise<void> {
    const isOpen = site.password === null
    for (const path of host.includes('--') ? [random.pick(PATHS)] : PATHS) {
      const headers = cookie ? { cookie: cookie.text } : {}
      const { status, text } = await this.#visit(node, { host, path: `/${path}`, headers })
      const about = `/${path} at ${host} of node ${node} has ${status} ${JSON.stringify(text.slice(-60))}`
      const isFile = status === 200
      if (!shown) {
        if (isFile || status < 400 || status >= 500) throw new Error(`${about}, but is not shown`)
        continue
      }
      if (!isOpen && status === 401) {
        if (cookie?.at === site.passwordChanges && cookie.host === host && this.#world.now < cookie.expiresAt)
          throw new Error(`${about} with a valid cookie`)
        continue
      }
      if (!isOpen && cookie?.at !== site.passwordChanges) throw new Error(`${about} without the password`)
      const expected = shown.at(path, this.#world.now)
      const isRight = expected.some((one) =>
        one === undefined ? status === 404 : isFile && text.endsWith(one),
      )
      if (!isRight) throw new Error(`${about} instead of ${JSON.stringify(expected)}`)
    }
  }

  /** An active domain shows its site, or redirects to the first one of the pair. */
  async #visitDomains(random: Random): Promise<void> {
    const rows = await listDomains(this.#world)
    for (const { domain, slug, status, main } of rows) {
      if (rows.some((one) => one.domain === domain && one.status === 'active' && one.slug !== slug)) continue
      const site = this.#model.sites.find((one) => one.slug === slug)!
      const isShown = status === 'active' && site.isShown(this.#world.now) && site.live
      if (main === null || !isShown)
        for (const node of this.#world.nodes.keys())
          await this.#visitFiles(node, site, random, {
            host: domain,
            shown: isShown ? site.shown : undefined,
            cookie: undefined,
          })
    }
  }

  #visit(node: number, { host, ...more }: Visit): Promise<VisitResponse> {
    return this.#world.visit(node, { host: host.includes('.') ? host : `${host}.localhost`, ...more })
  }

  /** Both nodes respond as an edge that has just started. */
  async #compareWithCold(random: Random): Promise<void> {
    const visits = Array.from({ length: 8 }, () => this.#chooseVisit(random))
    const cold = await this.#world.visitFresh(visits)
    for (const node of this.#world.nodes.keys())
      for (const [index, visit] of visits.entries()) {
        const [warm, expected] = [await this.#world.visit(node, visit), cold[index]!]
        const [one, other] = [toText(warm), toText(expected)]
        if (one !== other)
          throw new Error(
            `node ${node} answers ${JSON.stringify(visit)} with\n${one}\na new one with\n${other}`,
          )
      }
    for (const [index, { host, path }] of visits.entries()) {
      const { etag } = cold[index]!.headers
      if (typeof etag === 'string') this.#etags.set(host + path, etag)
    }
  }

  #chooseVisit(random: Random): Visit {
    const { sites } = this.#model
    const site = sites.length > 0 ? random.pick(sites) : undefined
    const names = site ? [site.slug, site.slug, ...site.formerNames.map(({ slug }) => slug)] : ['nothing']
    const label = random.pick(['', '', ...PREVIEWS, ...(site?.versions.map(({ id }) => id) ?? [])])
    const host = `${label && `${label}--`}${random.pick(names)}.localhost`
    const path = random.pick(['/', '/a', '/d/', '/none', '/robots.txt', ...PATHS.map((one) => `/${one}`)])
    const etag = this.#etags.get(host + path)
    const headers = {
      ...(random.chance(0.6) && {
        'accept-encoding': random.pick(['gzip', 'br', 'zstd, gzip', 'identity', '*']),
      }),
      ...(random.chance(0.2) && {
        range: random.pick(['bytes=0-9', 'bytes=5-', 'bytes=-7', 'bytes=9000-', 'bytes=0-1,4-5']),
      }),
      ...(random.chance(0.3) && { accept: random.pick(['text/html', 'application/json', '*/*']) }),
      ...(etag !== undefined && random.chance(0.4) && { [random.pick(['if-none-match', 'if-range'])]: etag }),
      ...(site &&
        site.cookies.length > 0 &&
        random.chance(0.5) && { cookie: random.pick(site.cookies).text }),
    }
    return { host, path, method: random.chance(0.1) ? 'HEAD' : 'GET', headers }
  }

  #assertNoErrors(): void {
    for (const { log } of this.#world.nodes)
      assertNone(log.filter(({ level }) => level === 'error').map((line) => JSON.stringify(line)))
  }
}

function toText({ status, headers, text }: VisitResponse): string {
  const { date: _, connection: __, 'keep-alive': ___, ...sent } = headers
  return JSON.stringify([status, sent, text]).replace(/nonce-[\w+/=-]+/g, 'nonce')
}

function assertNone(problems: readonly string[]): void {
  if (problems.length > 0) throw new Error(problems.slice(0, 6).join('\n'))
}
