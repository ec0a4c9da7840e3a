/**
 * What DNS answers about a name now. Nothing is believed longer than the servers that are asked believe it themselves.
 *
 * - `values` is empty when DNS says that there is nothing: no such name, or no such record.
 * - `trouble` is there when nobody could say: no answer in time, a server that failed or refused, an answer that makes no
 *   sense or is too long. It is a short clause for a person, such as "the DNS servers of example.com do not answer". Whoever
 *   asks must not take it for a no.
 * - Never throws, and never takes longer than ten seconds or keeps more than 64 KiB of an answer.
 */
export interface Answered {
  values: readonly string[]
  trouble?: string
}

export interface Dns {
  /**
   * Where CNAME records lead from a name, hop by hop (lower-case, without the dot at the end): empty when it is no alias.
   * At most 8 hops; a loop is trouble.
   */
  aliases(name: string): Promise<Answered>

  /** A and AAAA, of the name or of what it is an alias of, in one canonical form, sorted. */
  addresses(name: string): Promise<Answered>

  /** TXT records, the strings of each joined (RFC 7208, 3.3): at most 100. */
  texts(name: string): Promise<Answered>
}
