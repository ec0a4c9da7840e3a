/**
 * Words of the User-Agents of programs: search engines and other crawlers, link previews, monitors, command line tools
 * and HTTP libraries. `bot` ends a word, so that it is not the one in the phones of Cubot.
 */
const PROGRAMS =
  /(?<!cu)bot(?![a-z])|crawl|spider|slurp|archiver|scan|monitor|uptime|pingdom|lighthouse|headless|phantomjs|preview|facebookexternalhit|whatsapp|feed|curl|wget|httpie|python|java\/|go-http|okhttp|axios|node|undici|ruby|perl|php|libwww|http-?client|postman/i

/** Characters that are searched. */
const SEARCHED_CHARACTERS = 300

/** Whether a client names itself as a program rather than a person's browser. */
export function isBot(userAgent: string | undefined): boolean {
  return userAgent !== undefined && PROGRAMS.test(userAgent.slice(0, SEARCHED_CHARACTERS))
}
