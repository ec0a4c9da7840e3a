/**
 * A certificate and its schedule. An issued chain stays until the next one replaces it in one write. Keys are
 * PKCS#8 in PEM, encrypted with the service's secret.
 */
export interface CertificateRow {
  /** A custom domain, the service's own host, or `*.{site_domain}`. */
  name: string
  /** PEM, leaf first; null before the first one was issued. */
  chain: string | null
  key: string | null
  not_before: number | null
  not_after: number | null
  issued_at: number | null
  /** The ARI identifier (RFC 9773, 4.1). */
  certificate_id: string | null
  /** 1 when the CA has sent renewal information: an order may then name the certificate it replaces. */
  has_renewal_info: 0 | 1
  /** Time of the renewal, as the CA suggests or by the default rule. */
  renew_at: number | null
  /** Time of the next request for renewal information (RFC 9773). */
  information_at: number | null
  /** The pending order and its key, stored before the certificate is requested; null without an order. */
  order_url: string | null
  order_key: string | null
  /**
   * The preferred challenge type: that of the last success, or another one after a failed validation; null at
   * first.
   */
  challenge_type: 'http-01' | 'tls-alpn-01' | 'dns-01' | null
  /** Consecutive failures since the last certificate. */
  failures: number
  /** The last error as a message; null after a success. */
  problem: string | null
  /** Time of the next step; null when nothing is scheduled. */
  due_at: number | null
  /** Since when the certificate is no longer requested; null while it is. */
  unused_since: number | null
}

/**
 * The service's account at a CA (RFC 8555, 7.3): its key is stored before registration, so that there is
 * never a second one.
 */
export interface AcmeAccountRow {
  directory: string
  /** PKCS#8 in PEM, encrypted. */
  key: string
  url: string | null
  created_at: number
}

/** A challenge that any node can respond to (RFC 8555, 8.3; RFC 8737). */
export interface AcmeChallengeRow {
  type: 'http-01' | 'tls-alpn-01'
  name: string
  token: string
  key_authorization: string
  expires_at: number
}

/**
 * Requests that count against the limits of the CA: orders, ARI renewals, which do not count there
 * (`renewal`), certificates for the same names, failed validations; and the end of a requested pause
 * (`pause`).
 */
export interface AcmeRequestRow {
  id: string
  kind: 'order' | 'renewal' | 'certificate' | 'failure' | 'pause'
  /** Sorted, separated by commas. */
  names: string
  at: number
  /** Of an order: the owner of the name, and its registrable domain; null for the service's own names. */
  account_id: string | null
  root: string | null
}
