// The plain page: sends the query with the name and password of the form, and shows the answer as text.
const form = document.querySelector("form");
const output = document.querySelector("pre");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { user, password, query } = Object.fromEntries(new FormData(form));
  const headers = user ? { "X-ClickHouse-User": user, "X-ClickHouse-Key": password } : {};
  output.className = "";
  output.textContent = "Running …";
  try {
    const response = await fetch("/?default_format=PrettyCompactMonoBlock", { method: "POST", headers, body: query });
    output.textContent = (await response.text()) || "Done.";
    output.className = response.ok ? "" : "error";
  } catch (error) {
    output.textContent = `The server cannot be reached: ${error.message}`;
    output.className = "error";
  }
});

form.query.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
