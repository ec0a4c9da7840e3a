import type { ChallengeType } from '../../server/certificates/acme/acme.ts'
import { startCaFixture } from './ca-fixture.ts'
import { RestartingNode } from './ca-fixture-node.ts'
import { requestAll } from './request-all.ts'

export interface IssueOptions {
  ca: 'pebble' | 'caddy'
  /** The only challenge type that the CA can validate. */
  type: ChallengeType
  count: number
  /** Maximum delay in seconds before Pebble validates a challenge. */
  delay: number
  /** Divisor of the pauses that the CA requests. */
  speedup: number
}

export interface Figures {
  /** Names served over HTTPS with a first certificate, and those served with that one until a second replaced it. */
  issued: number
  renewed: number
  seconds: number
  /** Accounts and orders created at the CA. */
  accounts: number
  orders: number
  /** Requests that the CA refused for their nonce. */
  refusedNonces: number
  /** Counts of log messages and of failed HTTPS requests. */
  problems: Map<string, number>
}

/** Obtains and renews certificates for `count` active domains. */
export async function issueAndRenew({ count, speedup, ...options }: IssueOptions): Promise<Figures> {
  const started = performance.now()
  const names = Array.from({ length: count }, (_, index) => `n${index + 1}.${options.type}.example.test`)
  await using fixture = await startCaFixture({ ...options, names })
  await using node = await RestartingNode.join(fixture, { names, speedup })
  const open = () => requestAll(names, fixture, (problem) => node.count(problem))

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
    ...fixture.ca.counts,
    problems: node.problems,
  }
}
