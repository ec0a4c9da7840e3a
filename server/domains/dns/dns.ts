/**
 * The current records of a name. Results are cached no longer than their TTL in the queried servers.
 *
 * - `values` is empty when DNS reports that there is nothing: no such name, or no such record.
 * - `error` is set when the lookup failed: a time-out, a server failure, or an invalid or oversized
 *   response. It is a short clause for a message, such as "the DNS servers of example.com do not answer", and
 *   must not be treated as a negative result.
 * - Never throws, and never takes longer than ten seconds or keeps more than 64 KiB of a response.
 */
export interface DnsRecords {
  values: readonly string[]
  error?: string
}

/** A property of a CAA record set (RFC 8659, 4.1). */
export interface CaaRecord {
  critical: boolean
  tag: string
  value: string
}

/** `error` is as of `DnsRecords`. */
export interface LookupResult<T> {
  records: readonly T[]
  error?: string
}

export interface Dns {
  /** Hop by hop (lower case, no trailing dot), at most 8: a loop is an error. Empty when the name is no alias. */
  cname(name: string): Promise<DnsRecords>

  /** A and AAAA records of the name or of its alias target, in canonical form, sorted. */
  addresses(name: string): Promise<DnsRecords>

  /** TXT records, the strings of each joined (RFC 7208, 3.3): at most 100. */
  txt(name: string): Promise<DnsRecords>

  /** CAA records of the name or of its alias target, and not of names above: at most 100. */
  caa(name: string): Promise<LookupResult<CaaRecord>>
}
