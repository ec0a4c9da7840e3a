import { randomUUID } from 'node:crypto'
import type { CertificateCodec } from '../../server/certificates/deps.ts'

/** What a simulated CA issues in place of a chain in X.509, as JSON. */
export interface FakeCertificate {
  id: string
  names: readonly string[]
  key: string
  notBefore: number
  notAfter: number
}

/** Certificates without cryptography, so that ten years of them are made in minutes. */
export const fakeCodec: CertificateCodec = {
  newKey: () => randomUUID(),
  request: async (names, key) => Buffer.from(JSON.stringify({ names, key })),
  id: async (chain) => readFakeCertificate(chain).id,
  check(chain, { names, key, now }) {
    const found = readFakeCertificate(chain)
    if (found.key !== key) return { problem: 'it is for another key' }
    if (found.names.join() !== names.join()) return { problem: 'it is for other names' }
    if (found.notAfter <= now) return { problem: 'it has ended' }
    return { chain, notBefore: found.notBefore, notAfter: found.notAfter }
  },
}

export function readFakeCertificate(chain: string): FakeCertificate {
  return JSON.parse(chain) as FakeCertificate
}
