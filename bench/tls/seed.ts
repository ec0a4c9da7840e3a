import { openForOperator } from '../../server/app.ts'
import { readConfig } from '../../server/config/settings.ts'
import { makeLog } from '../../server/lib/log.ts'
import { SecretBox } from '../../server/lib/secret-box.ts'
import { DAY_MS } from '../../server/lib/time.ts'
import { Issuer } from '../../test/certificates/issuer.ts'
import { certificateRow, domainRow } from '../../test/store/rows.ts'

const AT_ONCE = 250

/** A chain, leaf first, and its key: PEM. */
export interface Certificate {
  chain: string
  key: string
}

interface Seed {
  data: string
  /** Of the service. */
  secret: string
  /** The site of all names. */
  slug: string
  names: readonly string[]
}

/**
 * Inserts active names with a certificate and a key each directly into the store of a stopped service.
 * Returns the certificate of the first one.
 */
export async function seedNames({ data, secret, slug, names }: Seed): Promise<Certificate> {
  const log = makeLog({ level: 'silent', text: false, write: () => undefined })
  const config = readConfig({ SLIPWAY_DATA: data, SLIPWAY_SECRET: secret })
  const issuer = await Issuer.create()
  const seal = new SecretBox(secret)
  const now = Date.now()
  const life = { notBefore: now - DAY_MS, notAfter: now + 89 * DAY_MS }
  let first: Certificate | undefined
  await using context = await openForOperator(config, { log, version: 'bench' })
  for (let at = 0; at < names.length; at += AT_ONCE) {
    const some = names.slice(at, at + AT_ONCE)
    const issued = await Promise.all(some.map((name) => issuer.issueWithKey({ ...life, names: [name] })))
    first ??= issued[0]!
    await context.store.write('durable', {}, async (tx) => {
      for (const [index, name] of some.entries()) {
        const { chain, key } = issued[index]!
        const sealed = seal.encrypt(key, `certificate ${name}`)
        await tx.domains.insert(
          domainRow(name, { accountId: 'bench', slug, status: 'active', createdAt: now, verifiedAt: now }),
        )
        const dates = { issuedAt: now, notBefore: life.notBefore, notAfter: life.notAfter }
        await tx.rows.insert('certificates', certificateRow(name, { chain, key: sealed, ...dates }))
      }
    })
  }
  return first!
}
