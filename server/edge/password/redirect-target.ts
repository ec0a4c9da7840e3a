/** Anything that a browser could read as another host becomes `/`. */
export function safeRedirectTarget(next: string | null | undefined): string {
  return next && /^\/(?!\/)[!-[\]-~]*$/.test(next) ? next : '/'
}
