export const IS_APPLE = /mac|iphone|ipad/i.test(navigator.userAgent)

/** Whether the event is Ctrl, or on Apple's systems Command, with this key. */
export function isShortcut(event: KeyboardEvent, key: string): boolean {
  const isModified = IS_APPLE ? event.metaKey : event.ctrlKey
  return isModified && !event.altKey && !event.shiftKey && event.key.toLowerCase() === key
}
