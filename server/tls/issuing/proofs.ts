import { createHash } from 'node:crypto'
import type { Log } from '../../log.ts'
import type { Store } from '../../store/store.ts'
import type { ChallengeType, Proof, Proofs } from '../acme/acme.ts'
import type { DnsHook } from '../dns-hook.ts'

export interface ProofsOptions {
  store: Store
  clock: () => number
  log: Log
  hook?: DnsHook | undefined
}

/** Thrown when a proof cannot be shown; the message is for the owner of the name. */
export class ProofFailure extends Error {
  override name = 'ProofFailure'
}

/** How long a challenge is answered, in milliseconds: longer than any CA takes to look. */
const CHALLENGE_LIFE = 3_600_000

/** What is shown for a name of the store, by whatever node the CA comes to; `shown` hears how. */
export function proofsOf(
  { store, clock, log, hook }: ProofsOptions,
  { types, shown }: { types: readonly ChallengeType[]; shown: (type: ChallengeType) => void },
): Proofs {
  return {
    types: () => types,

    async present(proof) {
      shown(proof.type)
      if (proof.type === 'dns-01') return enter(hook, proof)
      const { type, name, token, keyAuthorization: key_authorization } = proof
      const expires_at = clock() + CHALLENGE_LIFE
      await store.write('durable', (tx) =>
        tx.authorities.keepChallenge({ type, name, token, key_authorization, expires_at }),
      )
    },

    async remove(proof) {
      try {
        if (proof.type === 'dns-01') await hook?.cleanup(recordOf(proof), digestOf(proof))
        else await store.write('soft', (tx) => tx.authorities.dropChallenges(proof.name))
      } catch (error) {
        log.warn('a proof for the CA could not be taken away', { name: proof.name, type: proof.type, error })
      }
    },
  }
}

/** How a name can be proven; `first` is tried before the others, and these in the order in which they follow it. */
export function typesFor(
  name: string,
  { byDns, first }: { byDns: boolean; first: ChallengeType | null },
): ChallengeType[] {
  if (name.startsWith('*.')) return ['dns-01']
  const types: ChallengeType[] = byDns ? ['dns-01', 'http-01', 'tls-alpn-01'] : ['http-01', 'tls-alpn-01']
  const at = first === null ? 0 : Math.max(0, types.indexOf(first))
  return [...types.slice(at), ...types.slice(0, at)]
}

async function enter(hook: DnsHook | undefined, proof: Proof): Promise<void> {
  if (!hook) throw new ProofFailure(`${proof.name} can only be proven in DNS, and no hook for that is set`)
  try {
    await hook.present(recordOf(proof), digestOf(proof))
  } catch (error) {
    const message = `The TXT record ${recordOf(proof)} could not be entered: ${(error as Error).message}`
    throw new ProofFailure(message, { cause: error })
  }
}

function recordOf({ name }: Proof): string {
  return `_acme-challenge.${name}`
}

/** RFC 8555, 8.4. */
function digestOf({ keyAuthorization }: Proof): string {
  return createHash('sha256').update(keyAuthorization).digest('base64url')
}
