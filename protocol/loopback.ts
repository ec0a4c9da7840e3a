/** Whether the URL leads every device to itself (RFC 6761, section 6.3). */
export function isLoopbackUrl(url: string): boolean {
  return isLoopbackHost(new URL(url).hostname)
}

export function isLoopbackHost(host: string): boolean {
  return host === '[::1]' || host === '::1' || /^(.+\.)?localhost$|^127(\.\d{1,3}){3}$/.test(host)
}
