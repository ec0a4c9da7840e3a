import { createHash } from 'node:crypto'
import type { ChallengeResponse, ChallengeSolver, ChallengeType } from '../../packages/acme-client/acme.ts'
import { HOUR_MS } from '../lib/time.ts'
import { INDEPENDENT } from '../store/store.ts'
import type { IssuingDeps } from './deps.ts'
import type { DnsHook } from './dns-hook.ts'

/** The message is for the owner of the name. */
export class ChallengeError extends Error {
  override name = 'ChallengeError'
}

/** Longer than any CA takes to validate. */
const CHALLENGE_TTL_MS = HOUR_MS

/** Presents challenges on every node; `onPresent` receives the chosen type. */
export function createChallengeSolver(
  { store, clock, log, hook }: Pick<IssuingDeps, 'store' | 'clock' | 'log' | 'hook'>,
  { types, onPresent }: { types: readonly ChallengeType[]; onPresent: (type: ChallengeType) => void },
): ChallengeSolver {
  return {
    types: () => types,

    async present(challenge) {
      onPresent(challenge.type)
      const { type, name, token, keyAuthorization } = challenge
      if (type === 'dns-01') return presentDns(hook, challenge)
      const expiresAt = clock() + CHALLENGE_TTL_MS
      await store.write('durable', INDEPENDENT, (tx) =>
        tx.rows.put('acme_challenges', { type, name, token, keyAuthorization, expiresAt }),
      )
    },

    async remove(challenge) {
      try {
        if (challenge.type === 'dns-01') await hook?.cleanup(txtRecordName(challenge), dnsDigest(challenge))
        else await store.write('relaxed', INDEPENDENT, (tx) => tx.acme.deleteChallenges(challenge.name))
      } catch (error) {
        log.warn('removing an ACME challenge failed', { name: challenge.name, type: challenge.type, error })
      }
    },
  }
}

/** `first` is tried first, then the others in order. */
export function challengeTypesFor(
  name: string,
  { byDns, first }: { byDns: boolean; first: ChallengeType | null },
): ChallengeType[] {
  if (name.startsWith('*.')) return ['dns-01']
  const types: ChallengeType[] = byDns ? ['dns-01', 'http-01', 'tls-alpn-01'] : ['http-01', 'tls-alpn-01']
  const at = first === null ? 0 : Math.max(0, types.indexOf(first))
  return [...types.slice(at), ...types.slice(0, at)]
}

async function presentDns(hook: DnsHook | undefined, challenge: ChallengeResponse): Promise<void> {
  if (!hook)
    throw new ChallengeError(
      `${challenge.name} can only be validated in DNS, and SLIPWAY_DNS_HOOK is not set`,
    )
  try {
    await hook.present(txtRecordName(challenge), dnsDigest(challenge))
  } catch (error) {
    const message = `The TXT record ${txtRecordName(challenge)} could not be created: ${(error as Error).message}`
    throw new ChallengeError(message, { cause: error })
  }
}

function txtRecordName({ name }: ChallengeResponse): string {
  return `_acme-challenge.${name}`
}

/** RFC 8555, 8.4. */
function dnsDigest({ keyAuthorization }: ChallengeResponse): string {
  return createHash('sha256').update(keyAuthorization).digest('base64url')
}
