import { UNLIMITED } from '../../protocol/format.ts'
import { type SettingValues, settings } from './setting-table.ts'

/** What a service that other machines can reach lacks. */
export function deploymentWarnings(values: SettingValues): readonly string[] {
  const { baseUrl, siteDomain, smtpUrl, data } = values
  const warnings = []
  if (values.trustedProxies > 0 && EVERY_ADDRESS.has(values.host))
    warnings.push(
      `SLIPWAY_TRUSTED_PROXIES is ${values.trustedProxies} and SLIPWAY_HOST is ${values.host}: a client that reaches the port without the proxy can forge its address and evade rate limits. Allow only the proxy to reach the port: set SLIPWAY_HOST=127.0.0.1, or, in a container, publish the port to 127.0.0.1 or to the network of the proxy only`,
    )
  if (
    values.ownedFileBytes > values.ownedSiteBytes &&
    // The default may exceed a limit of the site that the operator lowered.
    ![settings.ownedFileBytes.defaultValue, UNLIMITED].includes(values.ownedFileBytes)
  )
    warnings.push('SLIPWAY_FILE_BYTES is larger than SLIPWAY_SITE_BYTES, which limits files as well')
  if (values.blobGrace < MIN_BACKUP_SECONDS)
    warnings.push(
      `SLIPWAY_BLOB_GRACE is ${values.blobGrace} s: a backup by other tools than slipway-server backup that takes longer can lack files of sites. Set it to more than its duration`,
    )
  if (values.chromium !== '' && values.chromiumSandbox === 'on' && process.getuid?.() === 0)
    warnings.push(
      'SLIPWAY_CHROMIUM is set, but Chromium cannot use its sandbox as root: run the service as another user, or set SLIPWAY_CHROMIUM_SANDBOX=off',
    )
  if (baseUrl === '' || isLoopback(new URL(baseUrl).hostname)) return warnings
  if (isLoopback(values.host) && values.trustedProxies === 0 && !values.proxyProtocol)
    warnings.push(
      `SLIPWAY_BASE_URL is ${baseUrl}, but SLIPWAY_HOST is ${values.host}: other machines cannot connect. Set SLIPWAY_HOST=0.0.0.0, or, behind a reverse proxy on this machine, SLIPWAY_TRUSTED_PROXIES=1 or SLIPWAY_PROXY_PROTOCOL=private`,
    )
  if (values.httpsPort !== undefined && !values.tlsCertFile && !values.dnsHook && !values.siteCertificates)
    warnings.push(
      'SLIPWAY_HTTPS_PORT is set, but published sites have no certificate and no HTTPS. Set SLIPWAY_TLS_CERT_FILE and SLIPWAY_TLS_KEY_FILE, SLIPWAY_DNS_HOOK, or SLIPWAY_SITE_CERTIFICATES',
    )
  if (isLoopback(siteDomain))
    warnings.push(
      `SLIPWAY_BASE_URL is ${baseUrl}, but SLIPWAY_SITE_DOMAIN is ${siteDomain}: only this machine can open published sites. Set SLIPWAY_SITE_DOMAIN to a domain with a wildcard DNS record`,
    )
  if (smtpUrl === '')
    warnings.push(
      `SLIPWAY_SMTP_URL is not set: no email is sent. Sign-in codes are printed to the terminal, or to stderr without one, and written to ${data}/mail`,
    )
  const isOpen = values.anonymousPublishing === 'on' || values.signUp.kind === 'open'
  if (isOpen && values.reportEmail === '')
    warnings.push(
      'SLIPWAY_REPORT_EMAIL is not set, although anyone can publish: reports by visitors send no email, and pages of suspended sites name no contact. Set it to the address of the operator',
    )
  return warnings
}

/** Shorter values of SLIPWAY_BLOB_GRACE are rarely intended. */
const MIN_BACKUP_SECONDS = 60

/** Values of SLIPWAY_HOST that listen on every network. */
const EVERY_ADDRESS = new Set(['0.0.0.0', '::', '[::]'])

function isLoopback(host: string): boolean {
  return host === '[::1]' || host === '::1' || /^(.+\.)?localhost$|^127(\.\d{1,3}){3}$/.test(host)
}
