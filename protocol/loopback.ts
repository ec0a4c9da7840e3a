/** Whether the URL leads every device to itself (RFC 6761, section 6.3). */
export function isLoopbackUrl(url: string): boolean {
  const { hostname } = new URL(url)
  return /(^|\.)localhost$/.test(hostname) || /^127\.\d+\.\d+\.\d+$/.test(hostname) || hostname === '[::1]'
}
