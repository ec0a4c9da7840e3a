import type { VisitorTexts } from './visitor-texts.ts'

export const CHINESE: VisitorTexts = {
  siteNotFound: { title: '未找到网站', text: '请检查网址是否有误。' },
  siteNotPublished: { title: '网站尚未发布', text: '首个版本尚未完成，请稍后再试。' },
  versionNotFound: { title: '未找到版本', text: '网站的这个版本从未完成，或已被删除。' },
  pageNotFound: { title: '未找到页面', text: '请检查网址，或从首页开始浏览。' },
  siteExpired: { title: '此网站已过期', text: '它只在限定时间内发布。' },
  badRequest: { title: '请求无效', text: '网址或请求的格式不正确。' },
  misdirected: { title: '请求目标错误', text: '此连接属于另一个网站，请重新加载页面。' },
  methodNotAllowed: { title: '不允许的方法', text: '此网址不支持这种请求。' },
  preconditionFailed: { title: '不满足前提条件', text: '文件已更改。' },
  rangeNotSatisfiable: { title: '范围无效', text: '请求的部分超出了文件末尾。' },
  internalError: { title: '出错了', text: '服务器无法完成请求，请稍后再试。' },
  unavailable: { title: '暂时不可用', text: '请稍后再试。' },
  unreadableForm: { title: '无法读取表单', text: '请返回并重新输入密码。' },
  homePage: '前往首页',
  password: {
    title: '此网站受密码保护',
    text: '请向网站所有者索取密码。',
    label: '密码',
    button: '打开网站',
    missing: '请输入密码。',
    wrong: '密码不正确，请重试。',
    tooManyAttempts: '密码错误次数过多，请在 {minutes} 分钟后重试。',
  },
}
