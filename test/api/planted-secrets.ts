import { crc32 } from 'node:zlib'
import { toBase62 } from '../../server/publish/secrets/secret-rules.ts'

// Secrets of the published formats, made for the test and valid nowhere. Their texts are put together here, so that no
// forge takes this file for a leak.

const DIGITS = '0123456789'
const HEX = `${DIGITS}abcdef`
const LOWER = 'abcdefghijklmnopqrstuvwxyz'
const UPPER = LOWER.toUpperCase()
const BASE62 = DIGITS + UPPER + LOWER
const BECH32 = '023456789ACDEFGHJKLMNPQRSTUVWXYZ'

/** A generator of numbers, the same in each run. */
let state = 39
function random(below: number): number {
  state = (state * 1_103_515_245 + 12_345) % 2 ** 31
  return Math.floor((state / 2 ** 31) * below)
}

function draw(length: number, characters = BASE62): string {
  return Array.from({ length }, () => characters[random(characters.length)]).join('')
}

/** With the check digits of GitHub and npm. */
function checked(prefix: string): string {
  const body = draw(30)
  return `${prefix}${body}${toBase62(crc32(body))}`
}

function pem(kind: string, lines = 6): string {
  const body = Array.from({ length: lines }, () => draw(64, `${BASE62}+/`))
  return [`-----BEGIN ${kind}-----`, ...body, `-----END ${kind}-----`].join('\n')
}

/** RFC 7517, beside a public key of its set. */
function jwk(key: object): string {
  return JSON.stringify({ keys: [key, { kty: 'RSA', kid: draw(43), n: draw(342), e: 'AQAB' }] })
}

const uuid = () => [8, 4, 4, 4, 12].map((length) => draw(length, HEX)).join('-')

/** By the kind that is reported; each call makes another secret. */
export const SECRETS: readonly (readonly [kind: string, make: () => string])[] = [
  ['private key', () => pem('RSA PRIVATE KEY')],
  ['private key', () => pem('PRIVATE KEY')],
  ['private key', () => pem('OPENSSH PRIVATE KEY')],
  ['PGP private key', () => pem('PGP PRIVATE KEY BLOCK')],
  [
    'private key',
    () => JSON.stringify({ type: 'service_account', private_key: pem('PRIVATE KEY') }).slice(1, -1),
  ],
  ['AWS access key', () => `${'AK'}IA${draw(16, UPPER)} secret=${draw(38)}a1`],
  ['Azure key', () => `Account${'Key='}${draw(86)}==`],
  ['Azure key', () => `Endpoint=sb://x.example/;SharedAccess${'Key='}${draw(43)}=`],
  ['Google OAuth client secret', () => `GOC${'SPX-'}${draw(28)}`],
  ['Stripe secret key', () => `sk_${'live_'}${draw(24)}`],
  ['Stripe secret key', () => `rk_${'live_'}${draw(99)}`],
  ['Slack token', () => `xox${'b-'}${draw(12, DIGITS)}-${draw(12, DIGITS)}-${draw(24)}`],
  ['Slack app token', () => `xap${'p-1-'}A${draw(10, UPPER)}-${draw(13, DIGITS)}-${draw(64, HEX)}`],
  [
    'Slack webhook',
    () => `https://hooks.sl${'ack.com/services/'}T${draw(8, UPPER)}/B${draw(10, UPPER)}/${draw(24)}`,
  ],
  ['GitHub token', () => checked('gh' + 'p_')],
  ['GitHub token', () => checked('gh' + 's_')],
  ['GitHub token', () => `github${'_pat_'}${draw(22)}_${draw(59)}`],
  ['GitLab token', () => `glp${'at-'}${draw(20)}`],
  ['GitLab token', () => `gloa${'s-'}${draw(64, HEX)}`],
  ['Bitbucket token', () => `ATAT${'T3xFfGF0'}${draw(172)}=${draw(8, DIGITS)}`],
  ['RubyGems key', () => `ruby${'gems_'}${draw(48, HEX)}`],
  ['npm token', () => checked('np' + 'm_')],
  ['PyPI token', () => `py${'pi-AgEIcHlwaS5vcmc'}${draw(120)}`],
  ['Docker token', () => `dckr${'_pat_'}${draw(27)}`],
  ['SendGrid key', () => `S${'G.'}${draw(22)}.${draw(43)}`],
  ['Mailgun key', () => `MAILGUN_KEY=ke${'y-'}${draw(32, HEX)}`],
  ['Twilio key', () => `twilio(A${'C'}${draw(32, HEX)}, ${draw(32, HEX)})`],
  ['Twilio key', () => `TWILIO_SID=A${'C'}${draw(32, HEX)}\nTWILIO_AUTH_TOKEN="${draw(32, HEX)}"`],
  ['OpenAI key', () => `sk${'-proj-'}${draw(64)}T3Blbk${'FJ'}${draw(64)}`],
  ['OpenAI key', () => `sk${'-'}${draw(20)}T3Blbk${'FJ'}${draw(20)}`],
  ['Anthropic key', () => `sk${'-ant-api03-'}${draw(93)}AA`],
  ['Slipway key', () => `sl_${'live_'}${draw(32, HEX)}`],
  ['Slipway claim token', () => `https://pages.test/claim${'?slug='}amber-harbor-k7x3m2&token=${uuid()}`],
  ['Slipway claim token', () => `claim${'Token'}: "${uuid()}"`],
  ['GitLab token', () => `gld${'t-'}${draw(20)}`],
  ['Square secret', () => `sq0${'csp-'}${draw(43)}`],
  ['Square secret', () => `sq0${'atp-'}${draw(22)}`],
  ['Braintree token', () => `access_${'token$production$'}${draw(16, DIGITS + LOWER)}$${draw(32, HEX)}`],
  ['Shopify token', () => `shp${'at_'}${draw(32, HEX)}`],
  ['DigitalOcean token', () => `dop${'_v1_'}${draw(64, HEX)}`],
  ['Hugging Face token', () => `h${'f_'}${draw(34, UPPER + LOWER)}`],
  ['Vault token', () => `hv${'s.'}${draw(95)}`],
  ['private key', () => encodeURIComponent(pem('EC PRIVATE KEY'))],
  ['private key', () => encodeURIComponent(pem('PRIVATE KEY')).replaceAll('%20', '+')],
  ['PuTTY private key', () => `Private-Lines: 1\n${draw(48)}\nPrivate-MAC: ${draw(64, HEX)}`],
  ['JSON Web Key', () => jwk({ kty: 'EC', crv: 'P-256', x: draw(43), y: draw(43), d: draw(43) })],
  ['JSON Web Key', () => jwk({ d: draw(342), e: 'AQAB', kty: 'RSA', n: draw(342) })],
  ['JSON Web Key', () => encodeURIComponent(jwk({ kty: 'OKP', crv: 'Ed25519', d: draw(43), x: draw(43) }))],
  ['age secret key', () => `AGE-SECRET${'-KEY-1'}${draw(58, BECH32)}`],
  ['age secret key', () => `AGE-SECRET${'-KEY-PQ-1'}${draw(58, BECH32)}`],
  ['Azure key', () => encodeURIComponent(`Account${'Key='}${draw(80)}+/${draw(4)}==`)],
  [
    'Slack webhook',
    () =>
      `https%3A%2F%2Fhooks.sl${'ack.com%2Fservices%2F'}T${draw(8, UPPER)}%2FB${draw(10, UPPER)}%2F${draw(24)}`,
  ],
  ['Supabase secret key', () => `sb_${'secret_'}${draw(22)}_${draw(8)}`],
]

/** Another secret of a kind. */
export function makeSecret(kind = 'GitHub token'): string {
  const [, make] = SECRETS.find(([name]) => name === kind)!
  return make()
}

/** What is public, or an example. */
export const PUBLIC: readonly string[] = [
  `AI${'zaSy'}${draw(33)}`,
  `pk_${'live_'}${draw(24)}`,
  `sk_${'test_'}${draw(24)}`,
  `https://${draw(32, HEX)}@o${draw(6, DIGITS)}.ingest.sentry.io/${draw(7, DIGITS)}`,
  `6L${draw(38)}`,
  JSON.stringify({
    apiKey: `AI${'za'}${draw(35)}`,
    projectId: 'x',
    appId: `1:${draw(12, DIGITS)}:web:${draw(22, HEX)}`,
  }),
  `${'AK'}IAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY`,
  `${'AK'}IA${draw(16, UPPER)}`,
  `gh${'p_'}${draw(36)}`,
  `np${'m_'}${'x'.repeat(36)}`,
  `sk_${'live_'}your_key_here_your_key_here`,
  '-----BEGIN PRIVATE KEY-----\n…\n-----END PRIVATE KEY-----',
  "key.replace('-----BEGIN RSA PRIVATE KEY-----', '').replace('-----END RSA PRIVATE KEY-----', '')",
  `data:image/png;base64,${draw(200)}${'AK'}IA${draw(400)}`,
  `key-${draw(32, HEX)}`,
  `integrity: sha512-${draw(86)}==`,
  pem('PUBLIC KEY'),
  `PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPublic-Lines: 2\n${draw(64)}\n${draw(16)}\nPrivate-Lines: 1`,
  jwk({ kty: 'EC', crv: 'P-256', x: draw(43), y: draw(43), kid: draw(43) }),
  jwk({ id: draw(43), kty: 'OKP', crv: 'Ed25519', x: draw(43) }),
  `age1${draw(58, BECH32).toLowerCase()}`,
  `sb_${'publishable_'}${draw(22)}_${draw(8)}`,
  `sb_${'secret_'}N7UND0UgjKTVK-Uodkm0Hg_xSvEMPvz`,
  `AccountName=devstoreaccount1;AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==`,
  `<script src="//sdk.twilio.com/video.js" data-sid="A${'C'}${draw(32, HEX)}" /><script src="/app.${draw(32, HEX)}.js" />`,
  pem('CERTIFICATE'),
]
