// The report of a study's page: a menu of formats, how far it is, and the file when it is whole.

const REPORTS = [["html", "HTML, one file"], ["pdf", "PDF"], ["ipynb", "Notebook"], ["md", "Markdown"]];

const reportMenu = () => (S.study.may.run ? `<details class="as-menu" id="as-report"><summary class="as-btn" aria-label="Make report">
  ${ICON.save}<span>Make report</span></summary><div>${REPORTS.map(([form, words]) =>
    `<button type="button" data-report="${form}">${words}</button>`).join("")}</div></details>` : "");

function wireReport() {
  for (const button of $$("[data-report]")) button.addEventListener("click", () => {
    $("#as-report").open = false;
    tell({ kind: "report", form: button.dataset.report });
  });
}

function showReport(m) {
  let place = $("#as-making");
  if (!place) {
    $(".st-main").insertAdjacentHTML("afterbegin", '<div class="as-panel as-job" id="as-making" role="status"></div>');
    place = $("#as-making");
  }
  place.dataset.state = m.state;
  if (m.state === "running") {
    const percent = Math.round(100 * m.fraction);
    if (!$("[role=progressbar]", place)) {
      place.innerHTML = `<div class="as-job__row"><div><h4>Report</h4></div><button class="as-btn" type="button">Cancel</button></div>
        <div class="as-bar" role="progressbar" aria-label="Report" aria-valuemin="0" aria-valuemax="100"><i></i></div>
        <div class="as-job__line"><span></span><span></span></div>`;
      $("button", place).addEventListener("click", () => tell({ kind: "report_cancel" }));
    }
    $("[role=progressbar]", place).setAttribute("aria-valuenow", percent);
    $(".as-bar i", place).style.width = `${percent}%`;
    const [now, far] = $$(".as-job__line span", place);
    now.textContent = m.message;
    far.textContent = `${percent} %`;
    return;
  }
  const said = m.state === "cancelled" ? "Cancelled; what was finished is kept." : m.state === "failed" ? m.message : "Saved as";
  place.innerHTML = `<div class="as-job__row"><div><h4>Report</h4><p>${escaped(said)} <span></span></p></div>
    <button class="as-btn as-btn--quiet" type="button">Close</button></div>`;
  $("button", place).addEventListener("click", () => place.remove());
  if (m.state !== "done") return;
  const bytes = Uint8Array.from(atob(m.content), (c) => c.charCodeAt(0));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([bytes], { type: m.mime }));
  link.download = link.textContent = m.name;
  $("p span", place).append(link);
  link.click();
}
