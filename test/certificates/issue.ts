import type { ChallengeType } from '../../server/certificates/acme/acme.ts'
import { startCaFixture } from './ca-fixture.ts'
import { RestartingNode } from './ca-fixture-node.ts'
import { openAll } from './open-all.ts'

export interface IssueOptions {
  ca: 'pebble' | 'caddy'
  /** The only way in which names can be proven. */
  type: ChallengeType
  count: number
  /** Maximum delay in seconds before Pebble validates a challenge. */
  delay: number
  /** How many times shorter pauses are than the CA wants. */
  haste: number
}

export interface Figures {
  /** Names that opened over HTTPS with a first certificate, and, that one up to its renewal, with another one after it. */
  issued: number
  renewed: number
  seconds: number
  /** What the CA has made. */
  accounts: number
  orders: number
  /** Requests that the CA refused for their nonce. */
  refusedNonces: number
  /** What was logged, and what kept names from being opened: how often. */
  problems: Map<string, number>
}

/** Has a service get and renew certificates for a number of active domains. */
export async function issueAndRenew({ count, haste, ...options }: IssueOptions): Promise<Figures> {
  const started = performance.now()
  const names = Array.from({ length: count }, (_, index) => `n${index + 1}.${options.type}.example.test`)
  await using fixture = await startCaFixture({ ...options, names })
  await using node = await RestartingNode.join(fixture, { names, haste })
  const open = () => openAll(names, fixture, (problem) => node.count(problem))

  await node.getAll()
  const first = await open()
  await node.passUntilRenewal()
  const last = await open()
  await node.getAll()
  const next = await open()

  const renewed = names.filter((name) => {
    const serial = first.get(name)
    return serial !== undefined && last.get(name) === serial && next.has(name) && next.get(name) !== serial
  })
  return {
    issued: first.size,
    renewed: renewed.length,
    seconds: (performance.now() - started) / 1000,
    ...fixture.ca.seen,
    problems: node.problems,
  }
}
